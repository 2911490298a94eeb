// A peer for tests: client-go's elector on one Lease. It prints "leading" when it has the Lease
// and "lost" when it has it no more, and gives it back when it is told to end.
//
//	elector KUBECONFIG NAMESPACE LEASE IDENTITY SECONDS
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func orEnd[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func main() {
	config := orEnd(clientcmd.BuildConfigFromFlags("", os.Args[1]))
	client := orEnd(kubernetes.NewForConfig(config))
	seconds := time.Duration(orEnd(strconv.Atoi(os.Args[5]))) * time.Second
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	leaderelection.RunOrDie(told, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  meta.ObjectMeta{Namespace: os.Args[2], Name: os.Args[3]},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: os.Args[4]},
		},
		LeaseDuration: seconds, RenewDeadline: seconds * 2 / 3, RetryPeriod: seconds / 8,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { fmt.Println("leading") },
			OnStoppedLeading: func() { fmt.Println("lost") },
		},
	})
}
