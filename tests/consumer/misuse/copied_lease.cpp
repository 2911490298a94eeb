// wants: delete
// A second handle is made by share().
void wrong(pawl::lease& lease) { pawl::lease second = lease; }
